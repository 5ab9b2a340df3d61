/** Shapes for states: each state has a shape and a word, so that no colour is needed to tell them apart. */
import type { JSX } from 'preact';
import type { AlertLevel } from '../../src/api/types.ts';

export type ShapeName =
  | 'square'
  | 'triangle'
  | 'ring'
  | 'dot'
  | 'cross'
  | 'endless'
  | 'half'
  | 'pause'
  | 'tick';

const PATHS: Readonly<Record<ShapeName, () => JSX.Element>> = {
  square: () => <rect x="1.5" y="1.5" width="9" height="9" />,
  triangle: () => <path d="M6 .8 11.6 11H.4Z" />,
  ring: () => <circle cx="6" cy="6" r="4.2" fill="none" stroke="currentColor" stroke-width="1.8" />,
  dot: () => <circle cx="6" cy="6" r="4" />,
  cross: () => <path d="m2 2 8 8m0-8-8 8" fill="none" stroke="currentColor" stroke-width="2.2" />,
  endless: () => (
    <path
      d="M6 6C4.8 3.8 1 3.2 1 6s3.8 2.2 5 0 5-2.8 5 0-3.8 2.2-5 0Z"
      fill="none"
      stroke="currentColor"
      stroke-width="1.6"
    />
  ),
  half: () => <path d="M6 1a5 5 0 0 0 0 10Z M6 1a5 5 0 0 1 0 10v-1.2a3.8 3.8 0 0 0 0-7.6Z" />,
  pause: () => <path d="M2.5 1.5h2.5v9h-2.5zM7 1.5h2.5v9H7z" />,
  tick: () => <path d="m1.5 6.5 3 3 6-7" fill="none" stroke="currentColor" stroke-width="2" />,
};

export function Shape({ name }: { readonly name: ShapeName }): JSX.Element {
  return (
    <svg class="shape" viewBox="0 0 12 12" fill="currentColor" aria-hidden="true">
      {PATHS[name]()}
    </svg>
  );
}

export function LevelMark({ level }: { readonly level: AlertLevel }): JSX.Element {
  return (
    <span class={`mark level-${level}`}>
      <Shape name={level === 'critical' ? 'square' : 'triangle'} /> {level}
    </span>
  );
}
