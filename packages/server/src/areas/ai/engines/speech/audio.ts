/** Samples as files. */

const RIFF_HEADER_BYTES = 44
const SAMPLE_BYTES = 2

/** A WAV file of one channel of 16 bits. */
export const toWav = (samples: Int16Array, rate: number): Buffer => {
  const data = toPcm(samples)
  const header = Buffer.alloc(RIFF_HEADER_BYTES)
  header.write("RIFF", 0)
  header.writeUInt32LE(RIFF_HEADER_BYTES - 8 + data.length, 4)
  header.write("WAVEfmt ", 8)
  header.writeUInt32LE(16, 16)
  header.writeUInt16LE(1, 20)
  header.writeUInt16LE(1, 22)
  header.writeUInt32LE(rate, 24)
  header.writeUInt32LE(rate * SAMPLE_BYTES, 28)
  header.writeUInt16LE(SAMPLE_BYTES, 32)
  header.writeUInt16LE(SAMPLE_BYTES * 8, 34)
  header.write("data", 36)
  header.writeUInt32LE(data.length, 40)
  return Buffer.concat([header, data])
}

/** Little-endian on every machine that Node runs on. */
export const toPcm = ({ buffer, byteOffset, byteLength }: Int16Array): Buffer =>
  Buffer.from(buffer as ArrayBuffer, byteOffset, byteLength)

/** At another rate, by straight lines between samples: a voice made at 22,050 Hz has nothing above that to lose. */
export const resample = (samples: Int16Array, from: number, to: number): Int16Array => {
  const result = new Int16Array(Math.floor((samples.length * to) / from))
  for (let at = 0; at < result.length; at++) {
    const position = (at * from) / to
    const left = Math.floor(position)
    const a = samples[left] ?? 0
    const b = samples[left + 1] ?? a
    result[at] = Math.round(a + (b - a) * (position - left))
  }
  return result
}
