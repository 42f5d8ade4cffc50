/** How many connections there may be: in all, of one address, and of clients who have not shown a key yet. */

export interface AdmissionLimits {
  readonly connectionsMax: number
  readonly ofAddressMax: number
  /** Of those who have not logged in. */
  readonly strangersMax: number
  readonly strangersOfAddressMax: number
}

export interface Admitted extends Disposable {
  /** It has logged in. */
  known(): void
}

const createCounts = () => {
  const counts = new Map<string, number>()
  return {
    of: (name: string) => counts.get(name) ?? 0,
    add(name: string, change: 1 | -1) {
      const count = (counts.get(name) ?? 0) + change
      if (count > 0) counts.set(name, count)
      else counts.delete(name)
    },
  }
}

export const createAdmission = (limits: AdmissionLimits) => {
  const all = createCounts()
  const strangers = createCounts()
  let total = 0
  let strangersTotal = 0

  return {
    /** Undefined where there is no room. */
    admit(address: string): Admitted | undefined {
      if (total >= limits.connectionsMax || all.of(address) >= limits.ofAddressMax) return undefined
      if (strangersTotal >= limits.strangersMax || strangers.of(address) >= limits.strangersOfAddressMax)
        return undefined
      let isHere = true
      let isStranger = true
      total += 1
      strangersTotal += 1
      all.add(address, 1)
      strangers.add(address, 1)
      const known = () => {
        if (!isStranger) return
        isStranger = false
        strangersTotal -= 1
        strangers.add(address, -1)
      }
      return {
        known,
        [Symbol.dispose]() {
          if (!isHere) return
          isHere = false
          known()
          total -= 1
          all.add(address, -1)
        },
      }
    },
  }
}

export type Admission = ReturnType<typeof createAdmission>
