import type { TestPlatform } from "../../../testing/platform.ts"
import { totpCode, totpStep } from "../totp.ts"

const MINUTE = 60_000

export const fromBase32 = (text: string): Buffer => {
  const bits = [...text]
    .map(letter => "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".indexOf(letter).toString(2).padStart(5, "0"))
    .join("")
  return Buffer.from((bits.match(/.{8}/g) ?? []).map(byte => Number.parseInt(byte, 2)))
}

/** An authenticator. */
export interface Phone {
  /** The code that it shows; a later one each time, as for a person who waits. */
  code(): Promise<string>
  readonly secret: Buffer
}

export const phoneOf = (p: TestPlatform, base32: string): Phone => {
  const secret = fromBase32(base32)
  return {
    secret,
    async code() {
      await p.clock.advance(MINUTE)
      return totpCode(secret, totpStep(p.clock.now()))
    },
  }
}
