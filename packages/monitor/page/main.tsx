/**
 * The page of the monitor. Everything it shows comes from the monitor that served it.
 *
 * In this folder: the frame of the page, which shows one of `pages/`. Nothing imports from here: a build of its own
 * makes the page of this file.
 */
import { effect } from '@preact/signals';
import { render } from 'preact';
import { App } from './app.tsx';
import { startClock } from './data/clock.ts';
import { watchKeys } from './data/keys.ts';
import { watchRoute } from './data/route.ts';
import { alerts, picture } from './data/store.ts';
import { connect, watchNetwork } from './data/stream.ts';
import { applyTheme } from './data/theme.ts';
import { startView } from './data/view.ts';
import { watchWidth } from './data/width.ts';
import { count } from './data/words.ts';

applyTheme();
watchRoute();
watchWidth();
watchKeys();
watchNetwork();
startClock();
startView();
void connect();

// A tab in the background tells by its title when something is wrong.
effect(() => {
  const firing = alerts.value.filter(({ state }) => state === 'firing').length;
  const held = picture.value === null ? '' : `${count(picture.value.totals.held)} held – `;
  document.title = `${firing > 0 ? `(${firing}!) ` : ''}${held}holdfast`;
});

const home = document.querySelector('#app');
if (home !== null) render(<App />, home);
