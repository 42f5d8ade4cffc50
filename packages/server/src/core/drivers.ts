/** Drivers, each opened once, when the first area needs it. */
import { fault } from "../kernel/fault.ts"

/** Gives the driver of that name, opened. */
export type OpenDriver<Drivers> = <Name extends keyof Drivers>(name: Name) => Promise<Drivers[Name]>

export interface Opener<Driver, Drivers> {
  /** Whether it is opened before the platform is ready: an operator who names a server is told at once of what is wrong. */
  readonly atStart: boolean
  /** What must be closed joins the stack. One that failed is tried again by whoever needs it next. */
  open(opened: AsyncDisposableStack, open: OpenDriver<Drivers>): Driver | Promise<Driver>
}

export type Openers<Drivers> = { readonly [Name in keyof Drivers]: Opener<Drivers[Name], Drivers> }

export const createDrivers = <Drivers extends object>(openers: Openers<Drivers>) => {
  const stack = new AsyncDisposableStack()
  const opening = new Map<keyof Drivers, Promise<unknown>>()
  let isClosed = false

  const open = <Name extends keyof Drivers>(name: Name): Promise<Drivers[Name]> => {
    const known = opening.get(name)
    if (known) return known as Promise<Drivers[Name]>
    const made = (async () => {
      if (isClosed) throw fault("service_unavailable", { reason: "the platform stops" })
      return openers[name].open(stack, open)
    })()
    opening.set(name, made)
    made.catch(() => opening.delete(name))
    return made
  }
  const names = Object.keys(openers) as (keyof Drivers)[]
  return {
    open,
    async start() {
      await Promise.all(names.filter(name => openers[name].atStart).map(open))
    },
    async [Symbol.asyncDispose]() {
      isClosed = true
      await Promise.allSettled(opening.values())
      await stack.disposeAsync()
    },
  }
}
