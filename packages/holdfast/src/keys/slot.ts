/** Which of the slots of a cluster a key lives in: the checksum of its hash tag, or of all of it. */

export const SLOTS = 16_384;

/** CRC-16/XMODEM, as the specification of Redis Cluster names it. */
const POLYNOMIAL = 0x1021;

const TABLE: Uint16Array = Uint16Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 8;
  for (let bit = 0; bit < 8; bit += 1) crc = (crc & 0x8000) === 0 ? crc << 1 : (crc << 1) ^ POLYNOMIAL;
  return crc;
});

/** The part of a key that decides: what stands between the first `{` and the next `}`, unless that is nothing. */
export function slotTag(key: string): string {
  const open = key.indexOf('{');
  if (open < 0) return key;
  const close = key.indexOf('}', open + 1);
  return close > open + 1 ? key.slice(open + 1, close) : key;
}

export function slotOf(key: string): number {
  let crc = 0;
  for (const byte of Buffer.from(slotTag(key))) {
    // The index is a byte, and the table has an entry for each.
    crc = ((crc << 8) & 0xffff) ^ (TABLE[(crc >> 8) ^ byte] as number);
  }
  return crc % SLOTS;
}
