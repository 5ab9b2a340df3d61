/** Text of any kind, for properties of what is shown, and what of it could harm a terminal or a log. */
import fc from 'fast-check';

/** Said another way than in the source: by numbers. */
function isHarmless(character: string): boolean {
  const code = character.codePointAt(0) ?? 0;
  const isControl = code < 0x20 || (code >= 0x7f && code <= 0x9f);
  const isBidi = (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069) || code === 0x061c;
  const isInvisible =
    (code >= 0x200b && code <= 0x200f) || code === 0xfeff || code === 0xad || code === 0x2060;
  const isSeparator = code === 0x2028 || code === 0x2029;
  const isHalf = code >= 0xd800 && code <= 0xdfff;
  return !(isControl || isBidi || isInvisible || isSeparator || isHalf);
}

/** With more of the bad ones than chance would give. */
export const anyText: fc.Arbitrary<string> = fc
  .array(
    fc.oneof(
      fc.integer({ min: 0, max: 0x10_ffff }),
      fc.integer({ min: 0, max: 0x9f }),
      fc.integer({ min: 0x2000, max: 0x206f }),
      fc.integer({ min: 0xd800, max: 0xdfff }),
    ),
  )
  .map((codes) => String.fromCodePoint(...codes));

/** The characters that must not be shown as they are. */
export function harmful(text: string): string[] {
  return [...text].filter((character) => !isHarmless(character));
}
