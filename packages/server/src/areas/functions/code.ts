/** The code of a function, as it is deployed. What cannot be code is `invalid_function_code`. */
import { fault } from "../../kernel/fault.ts"
import * as source from "../../services/serving/source.ts"

export type { Code, CodeFile } from "../../services/serving/source.ts"

const refused = (error: unknown): unknown =>
  error instanceof source.SourceError ? fault("invalid_function_code", { reason: error.message }) : error

const checked = <Result>(read: () => Result): Result => {
  try {
    return read()
  } catch (error) {
    throw refused(error)
  }
}

export const fromZip = (archive: Buffer): source.CodeFile[] => checked(() => source.fromZip(archive))
export const fromBase64Zip = (text: string): source.CodeFile[] =>
  checked(() => source.fromBase64Zip("code_zip", text))
export const fromFiles = (files: Readonly<Record<string, string>>): source.CodeFile[] =>
  checked(() => source.fromFiles(files))

/** WebAssembly Core Specification, 5.5.16. */
const WASM_MAGIC = Buffer.from("\0asm")

const isModule = (bytes: Buffer): boolean => bytes.subarray(0, WASM_MAGIC.length).equals(WASM_MAGIC)

const fromModule = (path: string, content: Buffer): source.CodeFile[] => {
  if (!isModule(content)) throw fault("invalid_function_code", { reason: "it is no WebAssembly module" })
  return [{ path, content, isExecutable: false }]
}

export const fromBase64Module = (path: string, text: string): source.CodeFile[] =>
  fromModule(
    path,
    checked(() => source.fromBase64("code", text)),
  )

/** An archive, or one module that would be `path` in it. */
export const fromZipOrModule = (path: string, bytes: Buffer): source.CodeFile[] =>
  isModule(bytes) ? fromModule(path, bytes) : fromZip(bytes)

export const packCode = (files: readonly source.CodeFile[]): Promise<source.Code> =>
  source.packCode(files).catch(error => {
    throw refused(error)
  })
