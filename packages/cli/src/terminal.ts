/** What a command sees of the world around it. */
export interface Terminal {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly stdin: NodeJS.ReadStream
  readonly out: Writer
  readonly err: Writer
}

export interface Writer {
  /** Columns of the screen; undefined when the output is no terminal. */
  readonly columns: number | undefined
  /** Of the screen; undefined as `columns`. */
  size(): { readonly columns: number; readonly rows: number } | undefined
  onResize(hear: () => void): Disposable
  line(text: string): void
  /** Replaces its previous text if the output is a terminal; an empty text removes it. */
  status(text: string): void
  /** Bytes as they are; resolves when more can be taken. */
  bytes(chunk: Uint8Array): Promise<void>
}

export const createWriter = (stream: NodeJS.WriteStream): Writer => {
  stream.on("error", (error: NodeJS.ErrnoException) => {
    // The reader of a pipe (`svc … | head`) has closed it, so there is nothing left to do.
    if (error.code === "EPIPE") process.exit()
    throw error
  })
  return {
    columns: stream.isTTY ? stream.columns : undefined,
    size: () => (stream.isTTY ? { columns: stream.columns || 80, rows: stream.rows || 24 } : undefined),
    onResize(hear) {
      stream.on("resize", hear)
      return { [Symbol.dispose]: () => void stream.off("resize", hear) }
    },
    line: text => void stream.write(`${text}\n`),
    status(text) {
      if (stream.isTTY) stream.write(`\r\x1b[2K${text}`)
    },
    bytes: chunk =>
      new Promise((resolve, reject) => stream.write(chunk, error => (error ? reject(error) : resolve()))),
  }
}

export const exitCodes = { ok: 0, refused: 1, usage: 2, network: 3, approvalPending: 4 } as const

/** The command as typed cannot be run; nothing was sent. */
export class UsageError extends Error {
  override readonly name = "UsageError"
  /** The command whose help tells more, as `kv set`. */
  readonly about: string | undefined

  constructor(message: string, about?: string) {
    super(message)
    this.about = about
  }
}

/** Characters of all standard input that a command takes as text. */
const INPUT_LENGTH_MAX = 64 * 1024 * 1024

export const readInput = async (stdin: NodeJS.ReadableStream): Promise<string> => {
  let text = ""
  const decoder = new TextDecoder()
  for await (const chunk of stdin) {
    text += decoder.decode(chunk as Uint8Array, { stream: true })
    if (text.length > INPUT_LENGTH_MAX) throw new UsageError("standard input is too long")
  }
  return text + decoder.decode()
}
