// Numbers as people read them.

function count(number) {
  return Math.round(number).toLocaleString('en');
}
// 1,234 as it is, 12.3k, 4.5M
function short(number) {
  const size = Math.abs(number);
  if (size >= 1e9) return `${(number / 1e9).toFixed(1)}G`;
  if (size >= 1e6) return `${(number / 1e6).toFixed(1)}M`;
  if (size >= 1e4) return `${(number / 1e3).toFixed(1)}k`;
  if (size >= 10 || Number.isInteger(number)) return count(number);
  return number.toFixed(1);
}
function bytes(number) {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  let unit = 0;
  while (number >= 1000 && unit < units.length - 1) {
    number /= 1000;
    unit += 1;
  }
  return `${unit > 0 && number < 100 ? number.toFixed(1) : Math.round(number)} ${units[unit]}`;
}
// A span: 0.4 s, 12.3 s, 4 min 05 s, 2 h 10 min, 3 d 4 h
function span(ms) {
  const s = ms / 1000;
  if (s < 0.0005) return '0 s';
  if (s < 100) return `${s.toFixed(1)} s`;
  const two = (number) => String(number).padStart(2, '0');
  const whole = Math.floor(s);
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${two(whole % 60)} s`;
  if (whole < 86400) return `${Math.floor(whole / 3600)} h ${two(Math.floor(whole / 60) % 60)} min`;
  return `${count(Math.floor(whole / 86400))} d ${Math.floor(whole / 3600) % 24} h`;
}
// The same in one unit, for the end of an axis: 50 s, 12 min, 1 h
function roughSpan(ms) {
  const s = Math.round(ms / 1000);
  if (s < 90) return `${s} s`;
  return s < 3500 ? `${Math.round(s / 60)} min` : `${Math.round(s / 3600)} h`;
}
// A short one, from µs: 85 µs, 1.2 ms, 3.4 s
function micros(us) {
  if (us < 1000) return `${Math.round(us)} µs`;
  if (us < 1e6) return `${(us / 1000).toFixed(us < 1e4 ? 1 : 0)} ms`;
  return `${(us / 1e6).toFixed(1)} s`;
}
function plural(number, one, many) {
  return `${count(number)} ${number === 1 ? one : many}`;
}
function clock(unixS) {
  return new Date(unixS * 1000).toLocaleTimeString([], {hour: '2-digit', minute: '2-digit'});
}
