import { checkOwner } from "../owner.ts"
import { PortError } from "../port-error.ts"
import type { BlobPort, ByteRange } from "./port.ts"

/** A store that is asked only while it is open, for owners, addresses and ranges that are such. */
export interface Store extends Omit<BlobPort, typeof Symbol.asyncDispose> {
  isAddress(text: string): boolean
  close(): void
}

const checkRange = ({ start, end }: ByteRange): void => {
  if (!(Number.isSafeInteger(start) && Number.isSafeInteger(end) && start >= 0 && end >= start))
    throw new PortError("refused", "a range begins at 0 or later and does not end before it begins")
}

const CLOSED = "the blob store is closed"

/** What every driver refuses before it asks its engine. An address that is none is answered like one that is not there. */
export const guarded = (store: Store): BlobPort => {
  let isOpen = true
  const checkOpen = (): void => {
    if (!isOpen) throw new PortError("unavailable", CLOSED)
  }
  const check = (owner: string): void => {
    checkOpen()
    checkOwner(owner)
  }

  return {
    capabilities: store.capabilities,
    async stage(owner, source, options) {
      check(owner)
      return store.stage(owner, source, options)
    },
    async read(owner, address, range) {
      check(owner)
      if (range) checkRange(range)
      if (!store.isAddress(address)) throw new PortError("missing", "there is no such blob")
      return store.read(owner, address, range)
    },
    async remove(owner, addresses) {
      check(owner)
      await store.remove(owner, addresses.filter(store.isAddress))
    },
    async verify(owner, address) {
      check(owner)
      return store.isAddress(address) ? store.verify(owner, address) : "missing"
    },
    async *list() {
      checkOpen()
      yield* store.list()
    },
    async sweep(before) {
      checkOpen()
      return store.sweep(before)
    },
    async health() {
      return isOpen ? store.health() : { ok: false, reason: CLOSED }
    },
    async [Symbol.asyncDispose]() {
      isOpen = false
      store.close()
    },
  }
}
