// Asking the server. A refusal is an Error with its status and the server's sentence. Addresses are
// whole ones: those of a page that was opened with a password in its address would have it, too, which
// fetch refuses.

const AFTER_MS = 10000;

class Refused extends Error {
  constructor(status, sentence) {
    super(sentence);
    this.status = status;
  }
}

async function sent(path, options) {
  const ending = new AbortController();
  const timer = setTimeout(() => ending.abort(), AFTER_MS);
  try {
    const answer = await fetch(location.origin + path, {
      cache: 'no-store', credentials: 'same-origin', redirect: 'error', signal: ending.signal, ...options,
    });
    if (!answer.ok) throw new Refused(answer.status, (await answer.text()).slice(0, 300).trim());
    return await answer.json();
  } finally {
    clearTimeout(timer);
  }
}

function ask(path, words = {}) {
  const given = Object.entries(words).filter(([, value]) => value !== undefined && value !== '');
  const query = new URLSearchParams(given).toString();
  return sent(query ? `${path}?${query}` : path, {headers: {Accept: 'application/json'}});
}

function change(path, token, body) {
  return sent(path, {
    method: 'POST', body: JSON.stringify(body),
    headers: {'Content-Type': 'application/json', 'X-Sluice-Token': token},
  });
}
