import { crc32, deflateSync } from "node:zlib"

/** Pixels a module, and of white around the code in modules (ISO/IEC 18004: four at least). */
const SCALE = 4
const QUIET_MODULES = 4

const PNG_SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
const GRAYSCALE = 0

const chunk = (type: string, data: Buffer): Buffer => {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data])
  const length = Buffer.alloc(4)
  length.writeUInt32BE(data.length)
  const check = Buffer.alloc(4)
  check.writeUInt32BE(crc32(body))
  return Buffer.concat([length, body, check])
}

/** A PNG with one bit a pixel (W3C PNG, 11.2); true is black. */
const toPng = (dark: readonly (readonly boolean[])[]): Buffer => {
  const side = dark.length * SCALE
  const header = Buffer.alloc(13)
  header.writeUInt32BE(side, 0)
  header.writeUInt32BE(side, 4)
  header.writeUInt8(1, 8)
  header.writeUInt8(GRAYSCALE, 9)
  const rowBytes = Math.ceil(side / 8)
  const rows = dark.flatMap(modules => {
    // A row begins with its filter: none.
    const row = Buffer.alloc(1 + rowBytes)
    modules.forEach((isDark, at) => {
      for (let pixel = at * SCALE; !isDark && pixel < (at + 1) * SCALE; pixel++) {
        const byte = 1 + (pixel >> 3)
        row.writeUInt8(row.readUInt8(byte) | (0x80 >> (pixel & 7)), byte)
      }
    })
    return Array<Buffer>(SCALE).fill(row)
  })
  return Buffer.concat([
    PNG_SIGNATURE,
    chunk("IHDR", header),
    chunk("IDAT", deflateSync(Buffer.concat(rows))),
    chunk("IEND", Buffer.alloc(0)),
  ])
}

/** The text as a QR code: a data URL of a PNG. The library is loaded with the first code. */
export const qrDataUrl = async (text: string): Promise<string> => {
  const { encode } = await import("uqr")
  const { data } = encode(text, { ecc: "M", border: QUIET_MODULES })
  return `data:image/png;base64,${toPng(data).toString("base64")}`
}
