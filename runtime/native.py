def has_numba():
    return False


class Kernels:
    def __init__(self, m):
        pass


def columns_of(objects, count):
    return None
