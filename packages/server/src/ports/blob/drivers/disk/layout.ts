/**
 * Where things are:
 *
 *     <root>/owners/<owner>/<ab>/<rest>   a blob whose SHA-256 is <ab><rest>
 *     <root>/staged/<id>                  one that is being written, or waits to be published
 */
import { join } from "node:path"

const ADDRESS = /^[0-9a-f]{64}$/
const SHARD = /^[0-9a-f]{2}$/
const REST = /^[0-9a-f]{62}$/

export const isAddress = (text: string): boolean => ADDRESS.test(text)
export const isShard = (text: string): boolean => SHARD.test(text)
export const isRest = (text: string): boolean => REST.test(text)

export interface Layout {
  readonly root: string
  readonly owners: string
  readonly staged: string
  /** Owner and address must have been checked: nothing here looks for `..`. */
  shardOf(owner: string, address: string): string
  blobOf(owner: string, address: string): string
}

export const createLayout = (root: string): Layout => {
  const owners = join(root, "owners")
  const shardOf = (owner: string, address: string) => `${owners}/${owner}/${address.slice(0, 2)}`
  return {
    root,
    owners,
    staged: join(root, "staged"),
    shardOf,
    blobOf: (owner, address) => `${shardOf(owner, address)}/${address.slice(2)}`,
  }
}
