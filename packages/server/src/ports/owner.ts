/** Whose something is, in ports that keep the belongings of many apart. */
import { PortError } from "./port-error.ts"

const OWNER = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

export const isOwner = (text: string): boolean => OWNER.test(text)

export const checkOwner = (owner: string): void => {
  if (!isOwner(owner)) throw new PortError("refused", "an owner is a lower-case UUID")
}
