/** A file, or a range of one, as the body of a reply. */
import type { FileHandle } from "node:fs/promises"
import type { Writable } from "node:stream"
import { createWriter, DirectBody } from "../../../../kernel/direct-body.ts"
import { PortError } from "../../../port-error.ts"
import { inBackground } from "../../in-background.ts"
import { asPortError } from "./failures.ts"

/** What a stream that is read holds at most twice of. */
export const CHUNK_BYTES = 256 * 1024

/** Two of these hold what is on its way from the file to a connection: one is filled while the other is sent. */
const BUFFER_BYTES = 512 * 1024
/** Buffers kept for the next reader: new memory costs more than the reading. */
const KEPT_MAX = 16

const kept: Buffer[] = []
const takeBuffer = (): Buffer => kept.pop() ?? Buffer.allocUnsafeSlow(BUFFER_BYTES)
const keepBuffer = (buffer: Buffer): void => {
  if (kept.length < KEPT_MAX) kept.push(buffer)
}

export const tooShort = (): PortError => new PortError("refused", "the blob ends before the range does")

export class FileBody extends DirectBody {
  readonly #handle: FileHandle
  readonly #first: Buffer
  #isBegun = false
  #position: number
  /** Infinite where the file decides. */
  #left: number

  /** `first` was read from `start` on already. */
  constructor(handle: FileHandle, first: Buffer, start: number, length: number) {
    super({ highWaterMark: CHUNK_BYTES })
    this.#handle = handle
    this.#first = first
    this.#position = start + first.length
    this.#left = length - first.length
  }

  /** Nothing is read ahead before somebody asks, who may be `sendTo`. */
  override _read(): void {
    if (this.#isBegun) return void this.#readNext()
    this.#isBegun = true
    this.push(this.#first)
  }

  async #readNext(): Promise<void> {
    try {
      const buffer = Buffer.allocUnsafeSlow(Math.min(CHUNK_BYTES, Math.max(this.#left, 1)))
      const bytes = this.#left === 0 ? 0 : await this.#fill(buffer)
      this.push(bytes === 0 ? null : buffer.subarray(0, bytes))
    } catch (error) {
      this.destroy(asPortError(error))
    }
  }

  /** The next bytes of the range; 0 at its end. */
  async #fill(buffer: Buffer): Promise<number> {
    const wanted = Math.min(buffer.length, this.#left)
    if (wanted === 0) return 0
    const { bytesRead } = await this.#handle.read(buffer, 0, wanted, this.#position)
    if (bytesRead === 0 && this.#left !== Number.POSITIVE_INFINITY) throw tooShort()
    this.#position += bytesRead
    this.#left -= bytesRead
    return bytesRead
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#handle.close().then(
      () => done(error),
      closeError => done(error ?? asPortError(closeError)),
    )
  }

  override async sendTo(target: Writable): Promise<void> {
    using writer = createWriter(target)
    let [filling, sending] = [takeBuffer(), takeBuffer()]
    try {
      let filled = inBackground(this.#fill(filling))
      await writer.write(this.#first)
      for (let bytes = await filled; bytes > 0; bytes = await filled) {
        const full = filling
        filling = sending
        sending = full
        filled = inBackground(this.#fill(filling))
        await writer.write(full.subarray(0, bytes))
      }
      // Not after a failure: the system may still read from one, or write to the other.
      keepBuffer(filling)
      keepBuffer(sending)
    } finally {
      this.destroy()
    }
  }
}
