/**
 * Pairs the replies of one connection with its requests. Redis answers in order, one reply a request, except:
 * a SUBSCRIBE is confirmed once a channel; messages and invalidations come unasked. RESP3 marks what comes
 * unasked, and marks confirmations the same way; RESP2 marks nothing.
 */
import { type Frame, RespError, type RespValue } from '../servers/resp.ts';

/** A request that was forwarded and what the caller wants to remember about it. */
interface Asked<Tag> {
  readonly args: readonly string[];
  readonly verb: string;
  readonly tag: Tag;
  confirmationsSeen: number;
}

/** The request that a message from the server answers, and whether this completes the answer. */
export interface Answer<Tag> {
  readonly args: readonly string[];
  readonly tag: Tag;
  readonly isWhole: boolean;
}

const CONFIRMED_BY_CHANNEL = /^[ps]?(un)?subscribe$/;
const MESSAGE = /^[ps]?message$/;

export class ReplyMatcher<Tag> {
  readonly #waiting: Asked<Tag>[] = [];
  /** Channels by the verb that subscribed them, to know when an UNSUBSCRIBE of everything is complete. */
  readonly #channels = new Map<string, Set<string>>();
  #isResp3 = false;

  asked(args: readonly string[], tag: Tag): void {
    const verb = (args[0] ?? '').toLowerCase();
    this.#waiting.push({ args, verb, tag, confirmationsSeen: 0 });
  }

  /** Undefined for what came unasked. */
  heard(frame: Frame): Answer<Tag> | undefined {
    const head = this.#waiting[0];
    if (head === undefined) return undefined;
    if (CONFIRMED_BY_CHANNEL.test(head.verb) && !(frame.value instanceof RespError)) {
      return this.#heardConfirmation(head, frame.value);
    }
    if (frame.type === '>' || this.#isMessage(frame)) return undefined;
    this.#followProtocol(head.verb, frame);
    return this.#answered(head);
  }

  #heardConfirmation(head: Asked<Tag>, value: RespValue): Answer<Tag> | undefined {
    if (!Array.isArray(value) || value[0] !== head.verb) return undefined;
    head.confirmationsSeen += 1;
    const channels = this.#channelsOf(head.verb.replace('un', ''));
    if (head.verb.includes('un')) channels.delete(String(value[1]));
    else channels.add(String(value[1]));
    const isForAll = head.args.length === 1;
    const isWhole = isForAll ? channels.size === 0 : head.confirmationsSeen === head.args.length - 1;
    return isWhole ? this.#answered(head) : { args: head.args, tag: head.tag, isWhole };
  }

  #answered(head: Asked<Tag>): Answer<Tag> {
    this.#waiting.shift();
    return { args: head.args, tag: head.tag, isWhole: true };
  }

  #isMessage({ value }: Frame): boolean {
    const isSubscribed = [...this.#channels.values()].some((channels) => channels.size > 0);
    if (this.#isResp3 || !isSubscribed || !Array.isArray(value)) return false;
    return typeof value[0] === 'string' && MESSAGE.test(value[0]);
  }

  #followProtocol(verb: string, frame: Frame): void {
    if (verb === 'hello' && !(frame.value instanceof RespError)) this.#isResp3 = frame.type === '%';
    if (verb !== 'reset') return;
    this.#isResp3 = false;
    this.#channels.clear();
  }

  #channelsOf(verb: string): Set<string> {
    const channels = this.#channels.get(verb) ?? new Set();
    this.#channels.set(verb, channels);
    return channels;
  }
}
