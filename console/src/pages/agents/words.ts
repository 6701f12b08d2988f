const CHANNELS: Record<string, string> = { web: "Web", whatsapp: "WhatsApp" };

/** Who may talk to an agent, by its door. */
export const DOORS: Record<string, string> = {
  public: "Open to everybody",
  private: "Its owner only",
  distribution: "Open to an audience",
};

/** "whatsapp" -> "WhatsApp". */
export function channelName(channel: string): string {
  return CHANNELS[channel] ?? channel;
}
