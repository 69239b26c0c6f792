/**
 * 64 bits of a text, as hexadecimal digits (FNV-1a): equal texts only, as far as keys need it. Not for secrets.
 */
export const fingerprint = (text: string): string => {
  let hash = 0xcbf29ce484222325n
  for (let i = 0; i < text.length; i++) {
    hash = BigInt.asUintN(64, (hash ^ BigInt(text.charCodeAt(i))) * 0x100000001b3n)
  }
  return hash.toString(16).padStart(16, "0")
}
