/**
 * Reflected cyclic redundancy checks of up to 64 bits, eight bytes a step ("slicing by 8": Kounavis and Berry, "Novel
 * Table Lookup-Based Algorithms for High-Performance CRC Generation", 2008). Both begin with all ones and end inverted.
 *
 * Polynomials, reflected, from the catalogue of parametrised CRC algorithms (reveng.sourceforge.io): CRC-32/ISCSI, which
 * is RFC 3720's CRC32C, and CRC-64/NVME of the NVM Express command set specification.
 */

interface Parameters {
  readonly bits: 32 | 64
  readonly polynomial: bigint
}

const CRC32C: Parameters = { bits: 32, polynomial: 0x82f6_3b78n }
const CRC64NVME: Parameters = { bits: 64, polynomial: 0x9a6c_9329_ac4b_c9b5n }

export interface Crc {
  update(bytes: Uint8Array): void
  /** Big-endian. */
  digest(): Buffer
}

/** What a byte does to the register `n` bytes later, at `256 * n + byte`, as low and high halves. */
interface Tables {
  readonly low: Int32Array
  readonly high: Int32Array
}

const SLICES = 8

const createTables = ({ polynomial }: Parameters): Tables => {
  const registers = new BigUint64Array(SLICES * 256)
  for (let byte = 0; byte < 256; byte += 1) {
    let register = BigInt(byte)
    for (let bit = 0; bit < 8; bit += 1) register = (register >> 1n) ^ (register & 1n ? polynomial : 0n)
    registers[byte] = register
  }
  for (let at = 256; at < registers.length; at += 1) {
    const before = registers[at - 256] ?? 0n
    registers[at] = (before >> 8n) ^ (registers[Number(before & 0xffn)] ?? 0n)
  }
  return {
    low: Int32Array.from(registers, register => Number(BigInt.asIntN(32, register))),
    high: Int32Array.from(registers, register => Number(BigInt.asIntN(32, register >> 32n))),
  }
}

/** Tables are 16 KiB and made once, when somebody first asks for such a check. */
const lazily = (parameters: Parameters) => {
  let tables: Tables | undefined
  return (): Crc => {
    tables ??= createTables(parameters)
    return startCrc(parameters, tables)
  }
}

const startCrc = ({ bits }: Parameters, tables: Tables): Crc => {
  let low = -1
  let high = bits === 64 ? -1 : 0
  return {
    update(bytes) {
      const whole = bytes.length - (bytes.length % SLICES)
      let at = 0
      for (; at < whole; at += SLICES) {
        const x = low ^ littleEndian(bytes, at)
        const y = high ^ littleEndian(bytes, at + 4)
        low = slice(tables.low, x, y)
        high = bits === 64 ? slice(tables.high, x, y) : 0
      }
      for (; at < bytes.length; at += 1) {
        const index = (low ^ (bytes[at] ?? 0)) & 0xff
        low = (low >>> 8) ^ (high << 24) ^ (tables.low[index] ?? 0)
        high = (high >>> 8) ^ (tables.high[index] ?? 0)
      }
    },
    digest() {
      const digest = Buffer.alloc(bits / 8)
      if (bits === 64) digest.writeInt32BE(~high, 0)
      digest.writeInt32BE(~low, bits / 8 - 4)
      return digest
    },
  }
}

const littleEndian = (b: Uint8Array, at: number): number =>
  (b[at] ?? 0) | ((b[at + 1] ?? 0) << 8) | ((b[at + 2] ?? 0) << 16) | ((b[at + 3] ?? 0) << 24)

/** The first byte has seven more behind it in this step, the last one none. */
const slice = (t: Int32Array, x: number, y: number): number =>
  (t[1792 + (x & 0xff)] ?? 0) ^
  (t[1536 + ((x >>> 8) & 0xff)] ?? 0) ^
  (t[1280 + ((x >>> 16) & 0xff)] ?? 0) ^
  (t[1024 + (x >>> 24)] ?? 0) ^
  (t[768 + (y & 0xff)] ?? 0) ^
  (t[512 + ((y >>> 8) & 0xff)] ?? 0) ^
  (t[256 + ((y >>> 16) & 0xff)] ?? 0) ^
  (t[y >>> 24] ?? 0)

export const startCrc32c = lazily(CRC32C)
export const startCrc64nvme = lazily(CRC64NVME)
