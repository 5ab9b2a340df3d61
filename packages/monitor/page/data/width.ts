import { type ReadonlySignal, signal } from '@preact/signals';

/** As in the style sheets. */
const NARROW = matchMedia('(max-width: 40rem)');

const narrow = signal(NARROW.matches);
/** A telephone, or a window beside the editor: rows have two lines, plots open by a tap. */
export const isNarrow: ReadonlySignal<boolean> = narrow;

export function watchWidth(): void {
  NARROW.addEventListener('change', ({ matches }) => {
    narrow.value = matches;
  });
}
