/**
 * What is where in the bucket:
 *
 * | key | holds |
 * |---|---|
 * | <prefix>blobs/<owner>/<id> | a blob written in one piece, its SHA-256 in its metadata |
 * | <prefix>blobs/<owner>/<id>.parts | one written in parts, whose SHA-256 was not known when its metadata were |
 * | <prefix>sums/<owner>/<id>.parts | its SHA-256 |
 *
 * An address is what follows the owner.
 */
import { isOwner } from "../../../owner.ts"

export const PARTS_SUFFIX = ".parts"

const ADDRESS = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}(\.parts)?$/

export const isAddress = (text: string): boolean => ADDRESS.test(text)
export const hasSum = (address: string): boolean => address.endsWith(PARTS_SUFFIX)

/** Undefined for keys that are none of ours. */
export const parseBlobKey = (blobsPrefix: string, key: string) => {
  const [owner = "", address = "", ...rest] = key.slice(blobsPrefix.length).split("/")
  const isOurs = key.startsWith(blobsPrefix) && isOwner(owner) && isAddress(address) && rest.length === 0
  return isOurs ? { owner, address } : undefined
}
