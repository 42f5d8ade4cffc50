/**
 * The check of a whole from those of its parts, without reading them again: appending n bytes multiplies the check of
 * what came before by x^8n, modulo the polynomial (zlib's crc32_combine, by Mark Adler).
 */
import type { HashName } from "../../../ports/blob/port.ts"

/** Bits of the check, and its polynomial with the lowest power first. */
const PARAMETERS = {
  crc32: { bits: 32n, polynomial: 0xedb8_8320n },
  crc32c: { bits: 32n, polynomial: 0x82f6_3b78n },
  crc64nvme: { bits: 64n, polynomial: 0x9a6c_9329_ac4b_c9b5n },
} as const satisfies { readonly [Name in HashName]?: { readonly bits: bigint; readonly polynomial: bigint } }

export type CrcName = keyof typeof PARAMETERS
type Parameters = (typeof PARAMETERS)[CrcName]

export const isCrc = (name: HashName): name is CrcName => name in PARAMETERS

const multiply = (a: bigint, b: bigint, { bits, polynomial }: Parameters): bigint => {
  let product = 0n
  let shifted = b
  for (let mask = 1n << (bits - 1n); mask > 0n; mask >>= 1n) {
    if (a & mask) product ^= shifted
    shifted = shifted & 1n ? (shifted >> 1n) ^ polynomial : shifted >> 1n
  }
  return product
}

/** x^8n, by squaring. */
const powerOf = (bytes: number, parameters: Parameters): bigint => {
  const one = 1n << (parameters.bits - 1n)
  let power = one
  let square = one >> 8n
  for (let left = BigInt(bytes); left > 0n; left >>= 1n) {
    if (left & 1n) power = multiply(power, square, parameters)
    square = multiply(square, square, parameters)
  }
  return power
}

/** Digests are big-endian. */
export const combineCrcs = (
  name: CrcName,
  parts: readonly { readonly digest: Buffer; readonly bytes: number }[],
): Buffer => {
  const parameters = PARAMETERS[name]
  // Nearly all parts of an upload are of one size.
  const powers = new Map<number, bigint>()
  let whole = 0n
  for (const { digest, bytes } of parts) {
    const power = powers.get(bytes) ?? powerOf(bytes, parameters)
    powers.set(bytes, power)
    whole = multiply(whole, power, parameters) ^ BigInt(`0x${digest.toString("hex")}`)
  }
  return Buffer.from(whole.toString(16).padStart(Number(parameters.bits) / 4, "0"), "hex")
}
