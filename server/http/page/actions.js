// What may be changed, after a question: a lock is broken, a key deleted. The server decides whether
// the visitor may; the buttons are there only if so.

function confirmed(title, name, text, yes) {
  const dialog = $('confirm');
  setText($('confirm-title'), title);
  $('confirm-name').replaceChildren(...nameParts(name));
  setText($('confirm-text'), text);
  setText($('confirm-yes'), yes);
  dialog.returnValue = '';
  dialog.showModal();
  $('confirm-no').focus();
  return new Promise((answer) => {
    dialog.addEventListener('close', () => answer(dialog.returnValue === 'yes'), {once: true});
  });
}

function makeConfirm() {
  $('confirm-yes').addEventListener('click', () => $('confirm').close('yes'));
  $('confirm-no').addEventListener('click', () => $('confirm').close('no'));
}

async function act(path, db, name, words) {
  try {
    const answer = await change(path, overview.token, {db, key: name.id});
    say(words(answer.done));
  } catch (fault) {
    say(faultWords(fault), true);
  }
  refresh();
  if ($('panel').open) askPanel();
}

async function breakLock(db, name) {
  const yes = await confirmed('Break this lock?', name,
    'Its holders lose it at once, and their tokens are stale. The next who waits gets it.', 'Break it');
  if (yes) {
    await act('/api/break', db, name, (done) => `The lock ${nameText(name)} is broken: ${plural(done, 'holder', 'holders')} lost it.`);
  }
}

async function deleteKey(db, name) {
  const yes = await confirmed('Delete this key?', name,
    'What it holds is gone. A limiter begins anew; the holders of a lock lose it.', 'Delete it');
  if (yes) {
    await act('/api/delete', db, name, (done) => (done > 0 ? `The key ${nameText(name)} is deleted.` : `There was no key ${nameText(name)}.`));
  }
}
