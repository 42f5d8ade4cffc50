/** Sets of slots: bit n of word n / 32. */
export type Bits = Uint32Array<ArrayBuffer>

export const noBits = (size: number): Bits => new Uint32Array((size + 31) >>> 5)

export const allBits = (size: number): Bits => {
  const bits = noBits(size).fill(0xffffffff)
  const rest = size & 31
  if (rest > 0) bits[bits.length - 1] = 2 ** rest - 1
  return bits
}

export const hasBit = (bits: Bits, n: number): boolean => ((bits[n >>> 5] ?? 0) & (1 << (n & 31))) !== 0

export const setBit = (bits: Bits, n: number): void => {
  bits[n >>> 5] = (bits[n >>> 5] ?? 0) | (1 << (n & 31))
}

export const clearBit = (bits: Bits, n: number): void => {
  bits[n >>> 5] = (bits[n >>> 5] ?? 0) & ~(1 << (n & 31))
}

export const intersect = (into: Bits, other: Bits): void => {
  for (let word = 0; word < into.length; word++) into[word] = (into[word] ?? 0) & (other[word] ?? 0)
}

export const unite = (into: Bits, other: Bits): void => {
  for (let word = 0; word < into.length; word++) into[word] = (into[word] ?? 0) | (other[word] ?? 0)
}

export const subtract = (from: Bits, other: Bits): void => {
  for (let word = 0; word < from.length; word++) from[word] = (from[word] ?? 0) & ~(other[word] ?? 0)
}

export const countBits = (bits: Bits): number => {
  let count = 0
  for (let word of bits) {
    // The classic parallel sum of bits (Hacker's Delight, figure 5-2).
    word -= (word >>> 1) & 0x55555555
    word = (word & 0x33333333) + ((word >>> 2) & 0x33333333)
    count += Math.imul((word + (word >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24
  }
  return count
}

/** Calls back for every member in `[from, to)`, in order. */
export const eachBit = (bits: Bits, from: number, to: number, visit: (n: number) => void): void => {
  for (let index = from >>> 5; index << 5 < to; index++) {
    let word = bits[index] ?? 0
    while (word !== 0) {
      const n = (index << 5) + (31 - Math.clz32(word & -word))
      if (n >= to) return
      if (n >= from) visit(n)
      word &= word - 1
    }
  }
}
