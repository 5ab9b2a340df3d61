/** Light, dark, or as the system says. The choice is kept in this browser. */
import { type ReadonlySignal, signal } from '@preact/signals';

const THEMES = ['system', 'light', 'dark'] as const;
type Theme = (typeof THEMES)[number];
const KEY = 'holdfast-theme';

const chosen = signal<Theme>(kept());
export const theme: ReadonlySignal<Theme> = chosen;

function kept(): Theme {
  try {
    return THEMES.find((name) => name === localStorage.getItem(KEY)) ?? 'system';
  } catch {
    // Storage may be forbidden by the reader's settings.
    return 'system';
  }
}

export function applyTheme(): void {
  document.documentElement.dataset['theme'] = chosen.value;
}

export function cycleTheme(): void {
  chosen.value = THEMES[(THEMES.indexOf(chosen.value) + 1) % THEMES.length] ?? 'system';
  applyTheme();
  try {
    localStorage.setItem(KEY, chosen.value);
  } catch {
    // Where the browser stores nothing, the choice is forgotten with the page.
  }
}
