/** Reads the body of a POST: JSON, at most 16 KB. */
import { HttpError } from './responses.ts';

const BYTES_MAX = 16 * 1024;

export async function readJson(request: Request): Promise<Record<string, unknown>> {
  const type = request.headers.get('content-type') ?? '';
  if (!/^application\/json\b/i.test(type)) {
    throw new HttpError('bad-request', 'expected content-type application/json, got another');
  }
  const body = await readLimited(request);
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    throw new HttpError('bad-request', 'expected JSON, got something else');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new HttpError('bad-request', 'expected a JSON object, got something else');
  }
  return value as Record<string, unknown>;
}

async function readLimited(request: Request): Promise<string> {
  if (Number(request.headers.get('content-length') ?? 0) > BYTES_MAX) throw tooLarge();
  if (request.body === null) return '';
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of request.body as unknown as AsyncIterable<Uint8Array>) {
    bytes += chunk.byteLength;
    if (bytes > BYTES_MAX) throw tooLarge();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function tooLarge(): HttpError {
  return new HttpError('too-large', `expected a body of at most ${BYTES_MAX} bytes, got more`);
}

export function stringIn(body: Record<string, unknown>, name: string, lengthMax: number): string {
  const value = body[name];
  if (typeof value !== 'string' || value === '' || value.length > lengthMax) {
    const expected = `expected ${name} to be a text of 1 to ${lengthMax} characters`;
    throw new HttpError(
      'bad-request',
      `${expected}, got ${typeof value === 'string' ? `${value.length}` : typeof value}`,
    );
  }
  return value;
}
