/** Commands of WebAssembly as bytes, written by hand (WebAssembly Core Specification, 5). */

type Bytes = readonly number[]

const unsigned = (value: number): Bytes =>
  value < 128 ? [value] : [(value & 127) | 128, ...unsigned(Math.floor(value / 128))]
const signed = (value: number): Bytes =>
  value >= -64 && value < 64 ? [value & 127] : [(value & 127) | 128, ...signed(value >> 7)]
const list = (items: readonly Bytes[]): Bytes => [...unsigned(items.length), ...items.flat()]
const text = (value: string): Bytes => list([...Buffer.from(value)].map(byte => [byte]))
const section = (id: number, content: Bytes): Bytes => [id, ...unsigned(content.length), ...content]

const I32 = 0x7f
const type = (parameters: number, results: number): Bytes => [
  0x60,
  ...list(Array<Bytes>(parameters).fill([I32])),
  ...list(Array<Bytes>(results).fill([I32])),
]
const TYPES = [type(4, 1), type(1, 0), type(2, 1), type(0, 0)]
const IMPORTS = { fd_read: 0, fd_write: 0, proc_exit: 1, environ_sizes_get: 2, environ_get: 2 } as const
type Import = keyof typeof IMPORTS
const names = Object.keys(IMPORTS) as Import[]

const i32 = (value: number): Bytes => [0x41, ...signed(value)]
const END = 0x0b
const store = (at: number, value: Bytes): Bytes => [...i32(at), ...value, 0x36, 2, 0]
const load = (at: number): Bytes => [...i32(at), 0x28, 2, 0]
const call = (name: Import, ...args: readonly Bytes[]): Bytes => [...args.flat(), 0x10, names.indexOf(name)]
const drop = (value: Bytes): Bytes => [...value, 0x1a]
const loop = (body: Bytes): Bytes => [0x02, 0x40, 0x03, 0x40, ...body, END, END]
const again: Bytes = [0x0c, 0]
const leaveIf = (condition: Bytes): Bytes => [...condition, 0x0d, 1]
const isZero = (value: Bytes): Bytes => [...value, 0x45]

/** Where things lie in memory. */
const [IOV, DONE, COUNT, SIZE, TEXT, DATA, NAMES, BUFFER] = [0, 8, 16, 20, 1_024, 4_096, 16_384, 32_768]

const transfer = (name: "fd_read" | "fd_write", fd: number, at: number, bytes: Bytes): Bytes => [
  ...store(IOV, i32(at)),
  ...store(IOV + 4, bytes),
  ...drop(call(name, i32(fd), i32(IOV), i32(1), i32(DONE))),
]

export const write = (fd: number, at: number, bytes: Bytes): Bytes => transfer("fd_write", fd, at, bytes)
/** Writes the text that the module holds. */
export const writeText = (fd: number, length: number): Bytes => write(fd, TEXT, i32(length))
const read = transfer("fd_read", 0, DATA, i32(4_000))

export const echo: Bytes = loop([
  ...read,
  ...leaveIf(isZero(load(DONE))),
  ...write(1, DATA, load(DONE)),
  ...again,
])
/** `NAME=value`, each with a null character behind it. */
export const writeEnvironment: Bytes = [
  ...drop(call("environ_sizes_get", i32(COUNT), i32(SIZE))),
  ...drop(call("environ_get", i32(NAMES), i32(BUFFER))),
  ...write(1, BUFFER, load(SIZE)),
]
export const trap: Bytes = [0x00]
export const endlessly: Bytes = loop(again)
export const leave = (code: number): Bytes => call("proc_exit", i32(code))
/** Takes 16 MiB more again and again, and writes to all of it. */
export const grow: Bytes = loop([
  ...[...i32(256), 0x40, 0, ...i32(16), 0x74],
  ...[...i32(1), ...i32(16 * 2 ** 20), 0xfc, 0x0b, 0],
  ...again,
])
/** Does it where the input, read before, has that character at that place; the input is echoed otherwise. */
export const when = (at: number, character: string, body: Bytes): Bytes => [
  ...[...i32(DATA + at), 0x2d, 0, 0, ...i32(character.charCodeAt(0)), 0x46, 0x04, 0x40],
  ...[...body, END],
]
export const readOnce: Bytes = [...read, ...store(SIZE, load(DONE))]
export const writeBack: Bytes = write(1, DATA, load(SIZE))

/** A command that holds a text and does that; `from` is the module that its imports are asked of. */
export const wasmOf = (body: Bytes, held = "", from = "wasi_snapshot_preview1"): string => {
  const imports = names.map(name => [...text(from), ...text(name), 0, IMPORTS[name]])
  const code = [0, ...body, END]
  return Buffer.from([
    ...[...Buffer.from("\0asm"), 1, 0, 0, 0],
    ...section(1, list(TYPES)),
    ...section(2, list(imports)),
    ...section(3, list([[3]])),
    ...section(5, list([[0, 1]])),
    ...section(
      7,
      list([
        [...text("memory"), 2, 0],
        [...text("_start"), 0, names.length],
      ]),
    ),
    ...section(10, list([[...unsigned(code.length), ...code]])),
    ...section(11, list([[0, ...i32(TEXT), END, ...text(held)]])),
  ]).toString("base64")
}
