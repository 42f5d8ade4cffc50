/** Where something is: in a bucket (`svc://bucket/key`), in a file, or on standard input or output (`-`). */
import { UsageError } from "../../terminal.ts"

export interface Remote {
  readonly kind: "remote"
  readonly bucket: string
  /** A key, a prefix of keys, or empty for the whole bucket. */
  readonly key: string
}

export type Address = Remote | { readonly kind: "file"; readonly path: string } | { readonly kind: "pipe" }

const SCHEME = "svc://"

export const parseAddress = (text: string): Address => {
  if (text === "-") return { kind: "pipe" }
  if (!text.startsWith(SCHEME)) return { kind: "file", path: text }
  const [bucket = "", ...rest] = text.slice(SCHEME.length).split("/")
  if (bucket === "") throw new UsageError(`${text} names no bucket`)
  return { kind: "remote", bucket, key: rest.join("/") }
}

export const parseRemote = (text: string | undefined): Remote => {
  const address = parseAddress(text ?? "")
  if (address.kind !== "remote") throw new UsageError(`expected svc://bucket/key, not ${text ?? "nothing"}`)
  return address
}

export const showRemote = ({ bucket, key }: Pick<Remote, "bucket" | "key">): string =>
  `${SCHEME}${bucket}/${key}`

/** A prefix that ends where a folder would, so that `photos` does not take `photos-old` along. */
export const folderOf = (key: string): string => (key === "" || key.endsWith("/") ? key : `${key}/`)
