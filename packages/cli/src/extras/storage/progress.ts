/** How far a copy is, on one line that is written over, where a person looks; nothing in a pipe. */
import type { Writer } from "../../terminal.ts"

const SHOWN_EVERY_MS = 200
const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"] as const

export const sizeText = (bytes: number): string => {
  const power = bytes < 1024 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log2(bytes) / 10))
  return `${power === 0 ? bytes : (bytes / 1024 ** power).toFixed(1)} ${UNITS[power]}`
}

export interface Progress extends Disposable {
  /** Files and bytes to copy; bytes are absent when their number is not known. */
  expect(files: number, bytes: number): void
  moved(bytes: number): void
  finished(): void
  readonly files: number
  readonly bytes: number
}

export const createProgress = (err: Writer): Progress => {
  const startedMs = performance.now()
  const expected = { files: 0, bytes: 0 }
  let files = 0
  let bytes = 0
  const show = () => {
    const perSecond = bytes / Math.max(0.001, (performance.now() - startedMs) / 1000)
    const total = expected.bytes > 0 ? ` of ${sizeText(expected.bytes)}` : ""
    err.status(`${files} of ${expected.files} files, ${sizeText(bytes)}${total}, ${sizeText(perSecond)}/s`)
  }
  const timer = err.columns === undefined ? undefined : setInterval(show, SHOWN_EVERY_MS)
  return {
    expect(more, moreBytes) {
      expected.files += more
      expected.bytes += moreBytes
    },
    moved(more) {
      bytes += more
    },
    finished() {
      files += 1
    },
    get files() {
      return files
    },
    get bytes() {
      return bytes
    },
    [Symbol.dispose]() {
      clearInterval(timer)
      err.status("")
    },
  }
}
