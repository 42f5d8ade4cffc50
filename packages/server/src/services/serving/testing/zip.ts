import { crc32, deflateRawSync } from "node:zlib"

/** An entry of an archive, with what it says of itself where that is not the truth. */
export interface Entry {
  readonly path: string
  readonly content: string | Buffer
  readonly mode?: number
  readonly stored?: boolean
  readonly method?: number
  readonly flags?: number
  readonly size?: number
  readonly crc?: number
  /** Where its local header lies. */
  readonly at?: number
}

const UNIX_20 = 0x0314

/** An archive as a zip program writes it (PKWARE APPNOTE.TXT, 4.3). */
export const zipOf = (entries: readonly Entry[], comment = ""): Buffer => {
  const bodies: Buffer[] = []
  const directory: Buffer[] = []
  let offset = 0
  for (const entry of entries) {
    const { path, content, mode = 0o100644, stored = false, flags = 0 } = entry
    const name = Buffer.from(path)
    const data = stored ? Buffer.from(content) : deflateRawSync(content)
    const facts = Buffer.alloc(20)
    facts.writeUInt16LE(20, 0)
    facts.writeUInt16LE(flags, 2)
    facts.writeUInt16LE(entry.method ?? (stored ? 0 : 8), 4)
    facts.writeUInt32LE(entry.crc ?? crc32(content), 10)
    facts.writeUInt32LE(data.length, 14)
    const rest = Buffer.alloc(8)
    rest.writeUInt32LE(entry.size ?? Buffer.byteLength(content), 0)
    rest.writeUInt16LE(name.length, 4)
    const shared = Buffer.concat([facts.subarray(0, 18), rest.subarray(0, 4), rest.subarray(4)])
    const local = Buffer.concat([Buffer.from("PK\x03\x04"), shared, name, data])
    const tail = Buffer.alloc(14)
    tail.writeUInt32LE((mode * 0x10000) >>> 0, 6)
    tail.writeUInt32LE(entry.at ?? offset, 10)
    const made = Buffer.alloc(2)
    made.writeUInt16LE(UNIX_20)
    directory.push(Buffer.concat([Buffer.from("PK\x01\x02"), made, shared, tail, name]))
    bodies.push(local)
    offset += local.length
  }
  const central = Buffer.concat(directory)
  const end = Buffer.alloc(18)
  end.writeUInt16LE(entries.length, 4)
  end.writeUInt16LE(entries.length, 6)
  end.writeUInt32LE(central.length, 8)
  end.writeUInt32LE(offset, 12)
  end.writeUInt16LE(Buffer.byteLength(comment), 16)
  return Buffer.concat([...bodies, central, Buffer.from("PK\x05\x06"), end, Buffer.from(comment)])
}
