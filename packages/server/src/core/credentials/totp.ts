import { createHmac, randomBytes, timingSafeEqual } from "node:crypto"

/** RFC 4226, 4: at least 128 bits, 160 recommended; that is also what authenticators accept everywhere. */
const SECRET_BYTES = 20
const STEP_SECONDS = 30
const DIGITS = 6
/** Steps before and after the present one that are accepted, for clocks that are off (RFC 6238, 5.2). */
const STEPS_ASIDE = 1

const BASE32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"

/** RFC 4648, 6, without padding, which authenticators do not want. */
export const toBase32 = (bytes: Uint8Array): string => {
  let bits = ""
  for (const byte of bytes) bits += byte.toString(2).padStart(8, "0")
  return (bits.match(/.{1,5}/g) ?? []).map(five => BASE32[Number.parseInt(five.padEnd(5, "0"), 2)]).join("")
}

export const newTotpSecret = (): Buffer => randomBytes(SECRET_BYTES)

/** The code of a time step (RFC 4226, 5.3). */
export const totpCode = (secret: Uint8Array, step: number): string => {
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(step))
  const mac = createHmac("sha1", secret).update(counter).digest()
  const at = mac.readUInt8(mac.length - 1) & 0xf
  return String((mac.readUInt32BE(at) & 0x7fffffff) % 10 ** DIGITS).padStart(DIGITS, "0")
}

export const totpStep = (nowMs: number): number => Math.floor(nowMs / 1000 / STEP_SECONDS)

/** The time step whose code it is; undefined where it is none. Every step is compared, so that the time tells nothing. */
export const matchingStep = (secret: Uint8Array, code: string, nowMs: number): number | undefined => {
  const given = Buffer.from(code.replaceAll(/\s/g, ""))
  const now = totpStep(nowMs)
  let found: number | undefined
  for (let step = now - STEPS_ASIDE; step <= now + STEPS_ASIDE; step++) {
    const expected = Buffer.from(totpCode(secret, step))
    if (given.length === expected.length && timingSafeEqual(given, expected)) found = step
  }
  return found
}

/**
 * Accepts a step unless it, or a later one, was accepted before: one statement that updates the factor where
 * `last_used_step` is null or smaller. Two requests with the same code cannot both get true.
 */
export type AcceptStep = (step: number) => Promise<boolean>

/** Whether the code is right and was not used yet (RFC 6238, 5.2). */
export const checkTotp = async (
  { secret, code, nowMs }: { readonly secret: Uint8Array; readonly code: string; readonly nowMs: number },
  accept: AcceptStep,
): Promise<boolean> => {
  const step = matchingStep(secret, code, nowMs)
  return step !== undefined && (await accept(step))
}

/** What an authenticator reads from the QR code: Google's key URI format. */
export const totpUri = ({ secret, issuer, account }: TotpLabel): string => {
  const label = `${encodeURIComponent(issuer)}:${encodeURIComponent(account)}`
  const query = new URLSearchParams({
    secret: toBase32(secret),
    issuer,
    algorithm: "SHA1",
    digits: String(DIGITS),
    period: String(STEP_SECONDS),
  })
  // Authenticators take `+` for what it is.
  return `otpauth://totp/${label}?${query.toString().replaceAll("+", "%20")}`
}

export interface TotpLabel {
  readonly secret: Uint8Array
  /** Shown above the code: what one signs in to. */
  readonly issuer: string
  /** Shown beside it: who signs in. */
  readonly account: string
}
