/** Takes an uploaded archive in, and looks whether it is one while it comes. */
import { createGunzip, type Gunzip } from "node:zlib"
import { BUILD_UPLOAD_BYTES_MAX } from "@svc/contract"
import type { Call } from "../../kernel/call.ts"
import { fault } from "../../kernel/fault.ts"
import type { BlobPort, StagedBlob } from "../../ports/blob/port.ts"
import { PortError } from "../../ports/port-error.ts"

const BLOCK = 512
const [CHECKSUM_AT, CHECKSUM_LENGTH] = [148, 8]

/** Whether a block begins an archive: its checksum counts its own place as blanks. */
const isHeader = (block: Buffer): boolean => {
  // An archive of nothing.
  if (block.every(byte => byte === 0)) return true
  const told = Number.parseInt(block.toString("latin1", CHECKSUM_AT, CHECKSUM_AT + CHECKSUM_LENGTH).trim(), 8)
  let sum = 0
  for (const [at, byte] of block.entries())
    sum += at >= CHECKSUM_AT && at < CHECKSUM_AT + CHECKSUM_LENGTH ? 0x20 : byte
  return sum === told
}

/** The first block of what is compressed, as far as it is there. */
const createInspection = () => {
  const decoder: Gunzip = createGunzip()
  let head = Buffer.alloc(0)
  let isBroken = false
  decoder
    .on("error", () => {
      isBroken = true
    })
    .on("data", (chunk: Buffer) => {
      if (head.length < BLOCK) head = Buffer.concat([head, chunk.subarray(0, BLOCK - head.length)])
    })
  const verdict = () => {
    if (isBroken) return "no"
    if (head.length < BLOCK) return "unknown"
    return isHeader(head) ? "yes" : "no"
  }
  return {
    async look(chunk: Uint8Array): Promise<void> {
      if (verdict() !== "unknown") return
      await new Promise<void>(resolve => {
        decoder.once("error", resolve)
        decoder.write(chunk, () => resolve())
      })
      if (verdict() === "no") throw fault("upload_not_gzip")
    },
    async end(): Promise<void> {
      if (verdict() === "unknown")
        await new Promise<void>(resolve => {
          decoder.once("end", resolve).once("error", resolve)
          decoder.end()
        })
      decoder.destroy()
      if (verdict() !== "yes") throw fault("upload_not_gzip")
    },
  }
}

/** Staged, not published yet. */
export const receiveUpload = async (call: Call, blob: BlobPort, owner: string): Promise<StagedBlob> => {
  if (/^multipart\//i.test(call.header("content-type") ?? "")) throw fault("upload_not_gzip")
  const tooLarge = () => fault("upload_too_large", { bytes: BUILD_UPLOAD_BYTES_MAX })
  if (Number(call.header("content-length") ?? 0) > BUILD_UPLOAD_BYTES_MAX) throw tooLarge()
  const inspection = createInspection()
  const inspected = async function* () {
    let bytes = 0
    for await (const chunk of call.stream) {
      bytes += (chunk as Buffer).length
      await inspection.look(chunk as Buffer)
      yield chunk as Buffer
    }
    if (bytes === 0) throw fault("upload_empty")
    await inspection.end()
  }
  try {
    return await blob.stage(owner, inspected(), { bytesMax: BUILD_UPLOAD_BYTES_MAX, signal: call.signal })
  } catch (error) {
    if (error instanceof PortError && error.kind === "refused") throw tooLarge()
    throw error
  }
}
