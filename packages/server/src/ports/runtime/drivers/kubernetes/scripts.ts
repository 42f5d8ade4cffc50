/** What containers of workloads run, as files of one ConfigMap, whose name tells what is in it. */
import { createHash } from "node:crypto"
import { readFile } from "node:fs/promises"
import { basename } from "node:path"

export interface Scripts {
  readonly name: string
  readonly data: Readonly<Record<string, string>>
}

const files = [
  ...["agent", "kernel", "loop", "commands", "files"].map(name => `../../agent/${name}.pl`),
  ...["pod", "sidecar", "relay", "reach", "prepare"].map(name => `${name}.pl`),
  ...["../../network/link.pl", "../process/root.pl", "../process/image.pl"],
]

/** `prefix` tells the names of one platform from those of another. */
export const readScripts = async (prefix: string): Promise<Scripts> => {
  const texts = await Promise.all(
    files.map(
      async file => [basename(file), await readFile(new URL(file, import.meta.url), "utf8")] as const,
    ),
  )
  const data = Object.fromEntries(texts)
  const hash = createHash("sha256").update(JSON.stringify(data)).digest("hex").slice(0, 16)
  return { name: `${prefix}-agent-${hash}`, data }
}
