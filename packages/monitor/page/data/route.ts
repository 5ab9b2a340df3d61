/** Which page is shown, by the part of the address after `#`. The path belongs to whoever mounts the monitor. */
import { type ReadonlySignal, signal } from '@preact/signals';

export const PAGES = ['locks', 'jobs', 'servers', 'alerts', 'audit'] as const;
export type PageName = (typeof PAGES)[number];

export type Route = { readonly page: PageName } | { readonly page: 'lock'; readonly name: string };

const current = signal<Route>(parse(location.hash));
export const route: ReadonlySignal<Route> = current;

function parse(hash: string): Route {
  const [, first = '', ...rest] = hash.split('/');
  if (first === 'lock') return { page: 'lock', name: decode(rest.join('/')) };
  const page = PAGES.find((name) => name === first);
  return { page: page ?? 'locks' };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // An address that somebody typed: a lone percent sign.
    return text;
  }
}

export function pageLink(page: PageName): string {
  return `#/${page}`;
}

export function lockLink(name: string): string {
  return `#/lock/${encodeURIComponent(name.toWellFormed())}`;
}

export function go(link: string): void {
  location.hash = link;
}

export function watchRoute(): void {
  addEventListener('hashchange', () => {
    current.value = parse(location.hash);
  });
}
