/** Public keys of OpenSSH: what they look like, and how a machine gets them. */
import { COMPUTER_SSH_KEYS_MAX } from "@svc/contract"
import { fault } from "../../kernel/fault.ts"
import type { Guest } from "../../ports/runtime/port.ts"

const types: ReadonlySet<string> = new Set([
  "ssh-ed25519",
  "ssh-rsa",
  ...["ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521"],
  ...["sk-ssh-ed25519@openssh.com", "sk-ecdsa-sha2-nistp256@openssh.com"],
])

const BLOB = /^[A-Za-z0-9+/]+={0,2}$/
const BLOB_BYTES_MIN = 32
/** In a comment: what could end the line, or hide what is in it, has no place there. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/

/** The length-prefixed strings of a key's blob (RFC 4253, 6.6); undefined when it is not made of such. */
export const sshStrings = (blob: Buffer): Buffer[] | undefined => {
  const strings: Buffer[] = []
  for (let at = 0; at < blob.length; ) {
    if (at + 4 > blob.length) return undefined
    const length = blob.readUInt32BE(at)
    if (at + 4 + length > blob.length) return undefined
    strings.push(blob.subarray(at + 4, at + 4 + length))
    at += 4 + length
  }
  return strings
}

/** The line as it is kept, or undefined when it is no public key. Options, as in `command="…" ssh-rsa …`, are refused. */
export const readPublicKey = (line: string): string | undefined => {
  const trimmed = line.trim()
  if (CONTROL.test(trimmed)) return undefined
  const [type = "", text = "", ...comment] = trimmed.split(/ +/)
  if (!types.has(type) || !BLOB.test(text)) return undefined
  const blob = Buffer.from(text, "base64")
  const strings = sshStrings(blob)
  if (!strings || strings.length < 2 || blob.length < BLOB_BYTES_MIN) return undefined
  if (strings[0]?.toString("latin1") !== type) return undefined
  return [type, text, ...comment].join(" ")
}

/** The lines of a request, each once. */
export const readPublicKeys = (lines: readonly string[]): string[] => {
  if (lines.length > COMPUTER_SSH_KEYS_MAX) throw fault("too_many_keys", { limit: COMPUTER_SSH_KEYS_MAX })
  const keys = lines.map((line, index) => {
    const key = readPublicKey(line)
    if (key === undefined) throw fault("invalid_ssh_key", { index })
    return key
  })
  return [...new Set(keys)]
}

const places = [
  { path: "/home/user/.ssh/authorized_keys", user: "user", roots: ["/home/user"] },
  { path: "/root/.ssh/authorized_keys", user: "root", roots: ["/root"] },
] as const

const DELIVERED_MS_MAX = 10_000

/**
 * Writes the list into a running machine, for its user and for root. Rejects when it cannot be, or not in time;
 * when one of the two refuses, only after the other is done, so that what is written next is what stays.
 */
export const deliverKeys = async (guest: Guest, keys: readonly string[]): Promise<void> => {
  const bytes = Buffer.from(keys.map(key => `${key}\n`).join(""))
  const written = Promise.allSettled(
    places.map(({ path, user, roots }) => guest.writeFile(path, bytes, { roots, user, mode: 0o600 })),
  )
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(
    () => late.reject(new Error("the machine does not take its keys")),
    DELIVERED_MS_MAX,
  )
  try {
    const outcomes = await Promise.race([written, late.promise])
    const refused = outcomes.find(outcome => outcome.status === "rejected")
    if (refused) throw refused.reason
  } finally {
    clearTimeout(timer)
  }
}
