import { hash, randomBytes } from "node:crypto"

const TOKEN_BYTES = 32

/** An opaque token: a prefix that secret scanners know, and 256 random bits. */
export const newToken = (prefix: string): string => prefix + randomBytes(TOKEN_BYTES).toString("base64url")

/** What is stored of a token. A fast hash is enough: 256 random bits cannot be guessed (ASVS 5, 6.5.2). */
export const tokenHash = (token: string): Buffer => hash("sha256", token, "buffer")
