import { randomBytes } from "node:crypto"
import type { VolumeCredentials } from "../../ports/engine/port.ts"

const PASSWORD_BYTES = 24

/** 192 random bits in letters, digits, `-` and `_`: nothing that a connection URI would have to escape. */
const newPassword = (): string => randomBytes(PASSWORD_BYTES).toString("base64url")

export const newCredentials = (): VolumeCredentials => ({ owner: newPassword(), reader: newPassword() })
