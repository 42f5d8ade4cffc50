/**
 * Work that somebody waits for later. A failure until then must not count as one that nobody hears; whoever waits hears
 * it.
 */
export const inBackground = <Result>(work: Promise<Result>): Promise<Result> => {
  work.catch(() => undefined)
  return work
}
