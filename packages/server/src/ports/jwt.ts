import { type KeyObject, sign } from "node:crypto"

const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url")

/** A signed token (RFC 7519): ES256 with a key of P-256, RS256 with one of RSA. */
export const signToken = (
  algorithm: "ES256" | "RS256",
  privateKey: KeyObject,
  header: object,
  claims: object,
): string => {
  const content = `${encode({ typ: "JWT", alg: algorithm, ...header })}.${encode(claims)}`
  // JSON Web Signature writes ECDSA's two numbers one after the other (RFC 7518, 3.4).
  const key = algorithm === "ES256" ? { key: privateKey, dsaEncoding: "ieee-p1363" as const } : privateKey
  return `${content}.${sign("sha256", Buffer.from(content), key).toString("base64url")}`
}

const TOKENS_MAX = 10_000

/** Tokens by what they are for, each made anew once its time is over. */
export const createTokens = (now: () => number) => {
  const known = new Map<string, { readonly token: string; readonly usableUntilMs: number }>()
  return {
    of(name: string, usableMs: number, make: () => string): string {
      const found = known.get(name)
      if (found && now() < found.usableUntilMs) return found.token
      const token = make()
      if (known.size >= TOKENS_MAX) known.clear()
      known.set(name, { token, usableUntilMs: now() + usableMs })
      return token
    },
  }
}
