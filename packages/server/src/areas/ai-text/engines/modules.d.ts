declare module "vader-sentiment" {
  export const SentimentIntensityAnalyzer: {
    polarity_scores(text: string): {
      readonly compound: number
      readonly pos: number
      readonly neu: number
      readonly neg: number
    }
  }
}
