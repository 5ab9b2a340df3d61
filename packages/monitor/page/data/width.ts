import { type ReadonlySignal, signal } from '@preact/signals';

/** The width below which the style sheets switch, too. */
const NARROW = matchMedia('(max-width: 40rem)');

const narrow = signal(NARROW.matches);
/** A telephone, or a window beside the editor: rows have two lines, plots open by a tap. */
export const isNarrow: ReadonlySignal<boolean> = narrow;

export function watchWidth(): void {
  NARROW.addEventListener('change', ({ matches }) => {
    narrow.value = matches;
  });
}
