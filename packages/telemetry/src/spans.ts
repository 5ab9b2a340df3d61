/**
 * Spans: one for acquiring, one for holding. Both are children of whatever the caller was doing, and the second is linked
 * to the first. The spans that the body of `using` starts are below the hold.
 */
import type { Attributes, Context, Span, Tracer } from '@opentelemetry/api';
import type { EndedMessage, Lease, LockTrace, UsingTrace } from 'holdfast';
import type { Groups } from './groups.ts';
import { ATTRIBUTES, LOCK_NAME, type OpenTelemetryApi } from './opentelemetry-api.ts';
import { outcomeOf } from './outcome.ts';
import type { Subscriptions } from './subscriptions.ts';

interface Acquiring {
  readonly span: Span;
  /** The async context of the caller. */
  readonly context: Context;
  readonly label: string;
  readonly attributes: Attributes;
}

export interface SpanOptions {
  readonly groups: Groups | null;
  /** Whether spans have the names of locks, which may be personal data. */
  readonly lockNames: boolean;
}

export class Spans {
  readonly #api: OpenTelemetryApi;
  readonly #tracer: Tracer;
  readonly #options: SpanOptions;
  readonly #acquiring = new Map<LockTrace, Acquiring>();
  /** By lease. */
  readonly #holding = new Map<string, Span>();

  constructor(api: OpenTelemetryApi, tracer: Tracer, options: SpanOptions, subscriptions: Subscriptions) {
    this.#api = api;
    this.#tracer = tracer;
    this.#options = options;
    subscriptions.trace<LockTrace>('acquire', 'start', (trace) => this.#begin(trace));
    subscriptions.trace<LockTrace>('acquire', 'asyncEnd', (trace) => this.#end(trace));
    subscriptions.trace<UsingTrace>('using', 'start', (trace) => this.#enclose(trace));
    subscriptions.on<EndedMessage>('ended', (message) => this.#ended(message));
  }

  /** Spans that are open end now: nobody would end them later. */
  stop(): void {
    for (const { span } of this.#acquiring.values()) span.end();
    for (const span of this.#holding.values()) span.end();
    this.#acquiring.clear();
    this.#holding.clear();
  }

  #begin(trace: LockTrace): void {
    const { lock, kind, session } = trace;
    const { groups, lockNames } = this.#options;
    const group = groups?.of(lock, kind).group;
    const attributes: Attributes = { [ATTRIBUTES.kind]: kind, 'holdfast.session': session };
    if (group !== undefined) attributes[ATTRIBUTES.group] = group;
    if (lockNames) attributes[LOCK_NAME] = lock;
    const label = group ?? kind;
    const context = this.#api.context.active();
    const span = this.#tracer.startSpan(`acquire ${label}`, { attributes }, context);
    this.#acquiring.set(trace, { span, context, label, attributes });
  }

  #end(trace: LockTrace): void {
    const acquiring = this.#acquiring.get(trace);
    if (acquiring === undefined) return;
    this.#acquiring.delete(trace);
    const { span } = acquiring;
    const { outcome, errorType } = outcomeOf(trace);
    span.setAttribute(ATTRIBUTES.outcome, outcome);
    if (trace.via !== undefined) span.setAttribute(ATTRIBUTES.via, trace.via);
    if (trace.fence !== undefined) span.setAttribute('holdfast.fence', trace.fence);
    if (errorType !== '') {
      span.setAttribute(ATTRIBUTES.error_type, errorType);
      span.setStatus({ code: this.#api.SpanStatusCode.ERROR, message: outcome });
    }
    span.end();
    // A lease can be lost before its caller gets it, and is told of before this.
    if (trace.lease === undefined || !(trace.result as Lease).isHeld) return;
    this.#holding.set(trace.lease, this.#hold(trace, acquiring));
  }

  #hold(trace: LockTrace, { span, context, label, attributes }: Acquiring): Span {
    const links = [{ context: span.spanContext() }];
    const hold = this.#tracer.startSpan(`hold ${label}`, { attributes, links }, context);
    if (trace.fence !== undefined) hold.setAttribute('holdfast.fence', trace.fence);
    return hold;
  }

  #ended({ lease, end, reason }: EndedMessage): void {
    const span = this.#holding.get(lease);
    if (span === undefined) return;
    this.#holding.delete(lease);
    span.setAttribute(ATTRIBUTES.end, end);
    if (reason !== undefined) {
      span.addEvent('holdfast.lost', { [ATTRIBUTES.reason]: reason });
      span.setStatus({ code: this.#api.SpanStatusCode.ERROR, message: `lost: ${reason}` });
    }
    span.end();
  }

  /** Lets the body run with the hold as the active span. */
  #enclose(trace: UsingTrace): void {
    const inner = trace.enclose;
    trace.enclose = (run) => {
      const body = inner === undefined ? run : () => inner(run);
      const span = trace.lease === undefined ? undefined : this.#holding.get(trace.lease);
      if (span === undefined) return body();
      const { context, trace: tracing } = this.#api;
      return context.with(tracing.setSpan(context.active(), span), body);
    };
  }
}
