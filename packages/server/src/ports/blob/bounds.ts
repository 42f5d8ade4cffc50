/** What every driver refuses before it asks its engine. */
import { PortError } from "../port-error.ts"
import type { ByteRange } from "./port.ts"

const OWNER = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

export const isOwner = (text: string): boolean => OWNER.test(text)

export const checkOwner = (owner: string): void => {
  if (!isOwner(owner)) throw new PortError("refused", "an owner is a lower-case UUID")
}

export const checkRange = ({ start, end }: ByteRange): void => {
  if (!(Number.isSafeInteger(start) && Number.isSafeInteger(end) && start >= 0 && end >= start))
    throw new PortError("refused", "a range begins at 0 or later and does not end before it begins")
}
