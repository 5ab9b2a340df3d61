/** Why a message could not be sent, in words that name the mistake where it is one of TLS. */
import type { Secret } from '../config/secret.ts';
import { describeError } from '../delivery/attempt.ts';

/** What Node says of a certificate that no known authority has signed: then `ca` helps. */
const UNKNOWN_AUTHORITY = /self.signed certificate|issuer certificate|unable to verify/i;

/** What Node says of a certificate that has expired, or is for another host. */
const WRONG_CERTIFICATE = /certificate has expired|certificate is not yet valid|altnames/i;

export function describeFailure(error: unknown, secrets: readonly Secret[]): string {
  const said = describeError(error, secrets);
  if (UNKNOWN_AUTHORITY.test(said))
    return `the certificate is not trusted: ${said}; the file of its authority belongs in "ca"`;
  return WRONG_CERTIFICATE.test(said) ? `the certificate is not trusted: ${said}` : said;
}
