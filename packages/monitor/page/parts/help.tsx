import type { JSX } from 'preact';
import { isHelpOpen, KEYS_HELP } from '../data/keys.ts';
import { Dialog } from './dialog.tsx';

/** The keys, opened by `?`. */
export function Help(): JSX.Element | null {
  if (!isHelpOpen.value) return null;
  const close = (): void => {
    isHelpOpen.value = false;
  };
  return (
    <Dialog title="Keys" onClose={close}>
      <dl class="keys">
        {KEYS_HELP.map(([keys, what]) => (
          <div key={keys}>
            <dt>
              {keys.split(' ').map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <p class="quiet">
        The order of the locks is made anew once a second. It is kept while the pointer is over it, a row has
        the focus, or text is selected.
      </p>
      <div class="buttons">
        <button type="button" class="primary" onClick={close}>
          Close
        </button>
      </div>
    </Dialog>
  );
}
