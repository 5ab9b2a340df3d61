/** Mail. A message that is sent twice has the same Message-ID, by which mail programs merge it. */
import { isIPv4 } from 'node:net';
import type { Clock } from 'holdfast';
import { createTransport } from 'nodemailer';
import type { Secret } from '../config/secret.ts';
import type { SmtpReceiver } from '../config/settings.ts';
import type { Attempt } from '../delivery/attempt.ts';
import { within } from '../delivery/within.ts';
import type { Notice } from '../machine/notice.ts';
import { describeFailure } from './failure.ts';
import { SEND_MS_MAX } from './http.ts';
import { textOf } from './text.ts';

const PORT_SMTP = 587;
const PORT_SMTPS = 465;

/** From here on the server says that it will not take this message, now or later. */
const PERMANENT_CODE_MIN = 500;

export async function sendMail(
  receiver: SmtpReceiver,
  notice: Notice,
  secrets: readonly Secret[],
  clock: Clock,
): Promise<Attempt> {
  const transport = createTransport(transportOptions(receiver));
  const { headline, lines } = textOf(notice);
  const host =
    receiver.from
      .split('@')
      .at(-1)
      ?.replace(/[^A-Za-z0-9.-]/g, '') ?? '';
  const mail = {
    from: receiver.from,
    to: [...receiver.to],
    subject: headline,
    text: `${[...lines, '', `fleet ${notice.fleet}, rule ${notice.rule}, key ${notice.key}`].join('\n')}\n`,
    messageId: `<holdfast.${notice.key}@${host === '' ? 'holdfast-monitor' : host}>`,
    headers: {
      'X-Holdfast-Rule': notice.rule,
      'X-Holdfast-Level': notice.level,
      'Auto-Submitted': 'auto-generated',
    },
    disableFileAccess: true,
    disableUrlAccess: true,
  };
  try {
    await within(clock, SEND_MS_MAX, (signal) => {
      signal.addEventListener('abort', () => transport.close(), { once: true });
      return transport.sendMail(mail);
    });
    return { is: 'sent' };
  } catch (error) {
    const failure = describeFailure(error, secrets);
    const said = isStartTlsRefused(error) ? `the server offers no STARTTLS: ${failure}` : failure;
    const isRefused = responseCode(error) >= PERMANENT_CODE_MIN;
    return isRefused ? { is: 'refused', error: said } : { is: 'failed', error: said, retryAfterMs: null };
  } finally {
    transport.close();
  }
}

function transportOptions({ url, password, ca }: SmtpReceiver) {
  const { protocol, hostname, port, username, password: inUrl } = new URL(url.reveal());
  const secure = protocol === 'smtps:';
  const pass = password?.reveal() ?? decodeURIComponent(inUrl);
  return {
    // A URL has an IPv6 address in brackets, a socket has it without.
    host: hostname.replace(/^\[|\]$/g, ''),
    port: port === '' ? (secure ? PORT_SMTPS : PORT_SMTP) : Number(port),
    secure,
    ...(username === '' ? {} : { auth: { user: decodeURIComponent(username), pass } }),
    // Without a login the server may have no TLS at all; with one, the password must not travel openly.
    requireTLS: !secure && username !== '' && !isLoopback(hostname),
    tls: ca === null ? {} : { ca },
    connectionTimeout: SEND_MS_MAX,
    greetingTimeout: SEND_MS_MAX,
    socketTimeout: SEND_MS_MAX,
  };
}

/** By the address alone: a name such as `127.example.com` may be anywhere. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '[::1]' || (isIPv4(host) && host.startsWith('127.'));
}

function isStartTlsRefused(error: unknown): boolean {
  return (
    responseCode(error) > 0 && error instanceof Error && 'command' in error && error.command === 'STARTTLS'
  );
}

function responseCode(error: unknown): number {
  const code =
    typeof error === 'object' && error !== null && 'responseCode' in error ? error.responseCode : 0;
  return typeof code === 'number' ? code : 0;
}
