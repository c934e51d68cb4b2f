// Clocks, power and temperature beside the times, where a driver told them.

const clocksCard = () => null;
