/** The way in, where the monitor asks for a login. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { type ApiError, asApiError, post } from '../data/http.ts';
import { connect } from '../data/stream.ts';
import { Field } from '../parts/dialog.tsx';
import { ErrorWords } from '../parts/states.tsx';

export function LoginPage(): JSX.Element {
  const user = useSignal('');
  const secret = useSignal('');
  const error = useSignal<ApiError | null>(null);
  const isBusy = useSignal(false);

  async function send(event: Event): Promise<void> {
    event.preventDefault();
    isBusy.value = true;
    try {
      await post('login', { user: user.value.trim(), password: secret.value }, '');
      await connect();
    } catch (thrown) {
      error.value = asApiError(thrown);
      secret.value = '';
    } finally {
      isBusy.value = false;
    }
  }

  return (
    <main class="login">
      <h1>
        holdfast <small>monitor</small>
      </h1>
      <form onSubmit={(event) => void send(event)}>
        <Field label="User" hint="Leave empty to log in with a token.">
          {(id) => (
            <input
              id={id}
              name="user"
              autocomplete="username"
              autocapitalize="off"
              spellcheck={false}
              value={user.value}
              onInput={(event) => {
                user.value = event.currentTarget.value;
              }}
            />
          )}
        </Field>
        <Field label="Password or token">
          {(id) => (
            <input
              id={id}
              name="secret"
              type="password"
              autocomplete="current-password"
              required
              value={secret.value}
              onInput={(event) => {
                secret.value = event.currentTarget.value;
              }}
            />
          )}
        </Field>
        {error.value !== null && <ErrorWords error={error.value} />}
        <div class="buttons">
          <button type="submit" class="primary" disabled={isBusy.value || secret.value === ''}>
            {isBusy.value ? 'Logging in…' : 'Log in'}
          </button>
        </div>
      </form>
    </main>
  );
}
