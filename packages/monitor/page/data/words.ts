/** Figures as an operator reads them: short, with a unit, on a 24-hour clock. Nothing here touches the browser. */

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const THOUSANDS = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });

/** Characters that nobody sees or that turn the text around them: controls, bidi marks, zero-width, separators. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\u00a0\u2000-\u200a\u3000\u3164\uffa0]/gu;

/** A name with every invisible character written out, so that two names that look the same are the same. */
export function visible(text: string): string {
  return text.replace(INVISIBLE, (sign) => `\\u{${(sign.codePointAt(0) ?? 0).toString(16)}}`);
}

export function count(value: number): string {
  return THOUSANDS.format(value);
}

/** "0.8 s", "41 s", "4 min", "2 h 10 min", "3 d 4 h": two units at most, none below its tenth. */
export function duration(ms: number): string {
  const length = Math.max(0, ms);
  if (length < 9_950) return `${(length / SECOND).toFixed(1)} s`;
  if (length < 2 * MINUTE - SECOND / 2) return `${Math.round(length / SECOND)} s`;
  if (length < HOUR) return `${Math.floor(length / MINUTE)} min`;
  if (length < DAY) return twoUnits(length, HOUR, 'h', MINUTE, 'min');
  return twoUnits(length, DAY, 'd', HOUR, 'h');
}

/** Whole seconds below two minutes: a figure that counts up or down does not flicker with tenths. */
export function seconds(ms: number): string {
  return ms < 2 * MINUTE ? `${Math.max(0, Math.floor(ms / SECOND))} s` : duration(ms);
}

function twoUnits(ms: number, large: number, largeName: string, small: number, smallName: string): string {
  const rest = Math.floor((ms % large) / small);
  const first = `${Math.floor(ms / large)} ${largeName}`;
  return rest === 0 ? first : `${first} ${rest} ${smallName}`;
}

function two(value: number): string {
  return String(value).padStart(2, '0');
}

/** "03:02:11". */
export function clock(time: number): string {
  const date = new Date(time);
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

/** "03:02:11" of today, otherwise "2026-11-18 03:02:11". */
export function moment(time: number, now: number): string {
  const date = new Date(time);
  if (date.toDateString() === new Date(now).toDateString()) return clock(time);
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${clock(time)}`;
}

const SIZES = ['B', 'KB', 'MB', 'GB', 'TB'];

export function bytes(value: number): string {
  let size = value;
  let unit = 0;
  while (size >= 1024 && unit < SIZES.length - 1) {
    size /= 1024;
    unit += 1;
  }
  return `${size < 10 && unit > 0 ? size.toFixed(1) : Math.round(size)} ${SIZES[unit]}`;
}

export function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}

export function milliseconds(value: number): string {
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ms`;
}

export interface Named {
  readonly app: string | null;
  readonly host: string | null;
  readonly pid: number | null;
}

/** "billing web-3 4711"; `null` when nothing is known of the process. */
export function processWords({ app, host, pid }: Named): string | null {
  const words = [app, host, pid === null ? null : String(pid)].filter((word) => word !== null && word !== '');
  return words.length === 0 ? null : visible(words.join(' '));
}

/** The process of a holder, or as much of the holder's id as tells it from others. */
export function ownerWords(owner: Named & { readonly holder: string }): string {
  return processWords(owner) ?? `session ${visible(owner.holder).slice(0, 8)}…`;
}
