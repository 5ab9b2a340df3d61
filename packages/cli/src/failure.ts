/** Why a command cannot go on: one line for people, one code for scripts. */
import { EXIT, type ExitName } from './exit-codes.ts';

export class Failure extends Error {
  readonly exitCode: number;
  /** The stack of a mistake of holdfast itself; empty for every other failure. */
  readonly frames: readonly string[];

  constructor(exit: ExitName | number, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'Failure';
    this.exitCode = typeof exit === 'number' ? exit : EXIT[exit];
    this.frames = exit === 'internal' && cause instanceof Error ? framesOf(cause) : [];
  }
}

function framesOf({ stack = '' }: Error): string[] {
  return stack.split('\n').filter((line) => /^\s+at /.test(line));
}

/** The errors of the library by their stable codes: importing its classes would slow every start. */
const BY_CODE: Readonly<Record<string, ExitName>> = {
  ELOCKTIMEOUT: 'busy',
  ELOCKLOST: 'lost',
  ELOCKUNKNOWN: 'unreachable',
  ELOCKUNAVAILABLE: 'unreachable',
  ELOCKCONFLICT: 'conflict',
  ELOCKCONFIG: 'usage',
};

/** Replies that are about who we are, not about the server's health. */
const REFUSAL = /\b(NOPERM|NOAUTH|WRONGPASS)\b/;

export function toFailure(error: unknown): Failure {
  if (error instanceof Failure) return error;
  if (!(error instanceof Error)) return new Failure('internal', String(error));
  const name = 'code' in error && typeof error.code === 'string' ? BY_CODE[error.code] : undefined;
  if (name === undefined) return new Failure('internal', oneLine(`${error.name}: ${error.message}`), error);
  const isRefused = name === 'unreachable' && REFUSAL.test(error.message);
  return new Failure(isRefused ? 'refused' : name, oneLine(error.message), error);
}

/** Replies of servers may contain line ends. */
export function oneLine(text: string): string {
  return text.replaceAll(/\s*[\r\n]+\s*/g, ' ').trim();
}
