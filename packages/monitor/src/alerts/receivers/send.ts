/**
 * Sends a notice to a receiver of any type.
 *
 * In this folder: a file for each format in which a notice is sent, and the text of a notice. Only `alerts/` imports
 * from here.
 */
import type { Clock } from 'holdfast';
import { printableJson } from 'holdfast';
import type { Secret } from '../config/secret.ts';
import { type AlertSettings, type Receiver, secretsOf } from '../config/settings.ts';
import { type Attempt, describeError } from '../delivery/attempt.ts';
import type { Notice } from '../machine/notice.ts';
import { runCommand } from './command.ts';
import { sendHttp } from './http.ts';
import { sendMail } from './smtp.ts';
import { httpMessage } from './webhook.ts';

export interface SendSurroundings {
  readonly clock: Clock;
  /** To be taken out of every error. */
  readonly secrets: readonly Secret[];
  /** One line for the standard output. */
  print(line: string): void;
}

/** Never rejects: a receiver whose settings no sender can use is one that failed. */
export async function send(
  receiver: Receiver,
  notice: Notice,
  surroundings: SendSurroundings,
): Promise<Attempt> {
  try {
    return await sendTo(receiver, notice, surroundings);
  } catch (error) {
    return { is: 'failed', error: describeError(error, surroundings.secrets), retryAfterMs: null };
  }
}

function sendTo(
  receiver: Receiver,
  notice: Notice,
  { clock, secrets, print }: SendSurroundings,
): Attempt | Promise<Attempt> {
  switch (receiver.type) {
    case 'stdout':
      print(printableJson(notice));
      return { is: 'sent' };
    case 'command':
      return runCommand(receiver, notice, secrets, clock);
    case 'smtp':
      return sendMail(receiver, notice, secrets, clock);
    default:
      return sendHttp(httpMessage(receiver, notice), secrets, clock);
  }
}

/** `send`, with the secrets of the settings that come with each notice. */
export function senderWith(
  clock: Clock,
  print: (line: string) => void,
): (receiver: Receiver, notice: Notice, settings: AlertSettings) => Promise<Attempt> {
  return (receiver, notice, settings) =>
    send(receiver, notice, { clock, secrets: secretsOf(settings), print });
}
